# Two stages: the build emits JavaScript, the image holds it with its production dependencies. The first argument picks the command.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc tsconfig.json ./
RUN npm ci --ignore-scripts --omit=optional
COPY src src
COPY storage storage
COPY apiservice apiservice
COPY deploy deploy
COPY test test
RUN npm run build && npm prune --omit=dev --omit=optional --ignore-scripts

FROM node:24-bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends git python3 python3-venv ca-certificates && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist .
COPY package.json LICENSE README.md ./
USER node
ENTRYPOINT ["node", "--max-semi-space-size=4", "src/launch.mjs"]
CMD ["--help"]
