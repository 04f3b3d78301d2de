# Succeeds while PostgreSQL accepts connections.
exec "/usr/lib/postgresql/$(cat "$PGDATA/PG_VERSION")/bin/pg_isready" -q -h 127.0.0.1 -p "$PORT" -d "$DATABASE_NAME" -U "$DATABASE_USER"
