# The command line in an image:
#   docker build -t troupe .
#   docker run --rm -it -v troupe-data:/data troupe threads --data /data

FROM debian:12-slim AS build
WORKDIR /src
COPY tools/setup tools/setup
RUN tools/setup
COPY . .
RUN tools/compile release programs && cmake --install build/release --prefix /opt/troupe --strip

FROM debian:12-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
      libcaf-core0.17 libcaf-io0.17 libcaf-openssl0.17 libcurl4 libfmt9 liblmdb0 libpq5 libspdlog1.10 \
      libsqlite3-0 libssl3 libxxhash0 libzstd1 \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 10001 troupe \
 && install -d -o troupe -g troupe /data
COPY --from=build /opt/troupe /usr/local
RUN ldconfig
USER troupe
WORKDIR /data
VOLUME /data
ENTRYPOINT ["troupe"]
CMD ["--help"]
