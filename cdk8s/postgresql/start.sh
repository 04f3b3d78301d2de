# Starts PostgreSQL on its volume: makes the database when there is none, and gives its role the password of the moment, so that a new
# Secret goes with an old volume. Programs are looked for where Debian's packages put them; the official image has the same layout.
set -euo pipefail

fail() { echo "postgresql: $1" >&2; exit 1; }

newest() { find /usr/lib/postgresql -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -n | tail -n 1; }

password=$(cat "$PASSWORD_FILE")
case $password in '' | *$'\n'*) fail "$PASSWORD_FILE must hold one line" ;; esac

version=$(newest)
if [ -s "$PGDATA/PG_VERSION" ]; then
  made=$(cat "$PGDATA/PG_VERSION")
  [ -x "/usr/lib/postgresql/$made/bin/postgres" ] ||
    fail "the volume was made by PostgreSQL $made, the image has $version: dump it with an image of $made, and restore it into a new volume"
  version=$made
fi
bin=/usr/lib/postgresql/$version/bin

# Runs statements, one a line, before anybody can connect. It reports mistakes, but exits with 0.
run_alone() { # DATA DATABASE < statements
  local said
  said=$("$bin/postgres" --single -j -D "$1" -c unix_socket_directories=/tmp -c log_min_error_statement=panic "$2" 2>&1) || fail "$said"
  case $said in *ERROR:* | *FATAL:* | *PANIC:*) fail "$said" ;; esac
}

if [ ! -s "$PGDATA/PG_VERSION" ]; then
  # under another name until it is whole: a start that was cut short leaves nothing that looks like a database
  rm -rf "$PGDATA.new"
  "$bin/initdb" -D "$PGDATA.new" --username=postgres --encoding=UTF8 --locale-provider=libc --lc-collate=C --lc-ctype=C.UTF-8 \
    --lc-messages=C --auth-local=peer --auth-host=reject >/dev/null
  run_alone "$PGDATA.new" postgres <<SQL
CREATE ROLE $DATABASE_USER LOGIN;

CREATE DATABASE $DATABASE_NAME OWNER $DATABASE_USER;
SQL
  [ ! -e "$PGDATA" ] || rmdir "$PGDATA"
  mv "$PGDATA.new" "$PGDATA"
fi
# a volume's group may have been given more than PostgreSQL puts up with
chmod 700 "$PGDATA"

run_alone "$PGDATA" postgres <<SQL
ALTER ROLE $DATABASE_USER PASSWORD '${password//\'/\'\'}';
SQL

exec "$bin/postgres" -D "$PGDATA" -c "hba_file=$HBA_FILE" -c 'listen_addresses=*' -c "port=$PORT" -c unix_socket_directories=/tmp \
  -c password_encryption=scram-sha-256
