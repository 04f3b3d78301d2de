# The parts of toolyard, one bundle each, for amd64 and arm64:
#   docker buildx build --platform linux/amd64,linux/arm64 -t toolyard .
#   docker run toolyard operator.mjs | fetch.mjs | registry.mjs | sandbox.mjs
# Bundles are plain JavaScript: they are made once, on the machine that builds, whatever the target.
FROM --platform=$BUILDPLATFORM node:26-slim AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY LICENSE tsconfig.json ./
COPY scripts ./scripts/
COPY lib ./lib/
COPY operator ./operator/
COPY mcp-servers ./mcp-servers/
RUN node scripts/bundle.ts dist

FROM gcr.io/distroless/nodejs26-debian13:nonroot
WORKDIR /app
COPY --from=build /src/dist/ ./
ENV NODE_ENV=production
USER 65532:65532
CMD ["operator.mjs"]
