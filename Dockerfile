# The command line in an image:
#   docker build -t troupe .
#   docker run --rm -it --init -v troupe-data:/data troupe threads --data /data
# A cluster of them: examples/cluster/compose.yaml

FROM debian:12-slim AS build
WORKDIR /src
COPY tools/setup tools/setup
RUN tools/setup --programs
COPY . .
RUN tools/compile release programs && cmake --install build/release --prefix /opt/troupe --strip

FROM debian:12-slim AS troupe
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
      libcaf-core0.17 libcaf-io0.17 libcurl4 libfmt9 liblmdb0 libpq5 libspdlog1.10 \
      libedit2 libre2-9 libsqlite3-0 libssl3 libzstd1 \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 10001 troupe \
 && install -d -o troupe -g troupe /data /certificates /authority
COPY --from=build /opt/troupe /usr/local
RUN ldconfig
USER troupe
WORKDIR /data
VOLUME /data
ENTRYPOINT ["troupe"]
CMD ["--help"]

# With the graph of examples/cluster, for its workers and homes.
FROM troupe AS cluster-example
COPY --from=build /src/build/release/lib/libcluster.so /usr/local/lib/troupe/

FROM troupe
