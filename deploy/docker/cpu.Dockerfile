# The server on a CPU with the voice that ships in the repository. Build it from the repository's root:
#   docker build -f deploy/docker/cpu.Dockerfile -t antiphon .
FROM python:3.11-slim-bookworm AS build
WORKDIR /src
RUN python -m venv /opt/antiphon
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY antiphon antiphon
COPY build_engines build_engines
COPY clients clients
COPY proto proto
COPY server server
COPY training training
COPY trt_engines trt_engines
RUN /opt/antiphon/bin/pip install --no-cache-dir .

FROM python:3.11-slim-bookworm
RUN useradd --uid 10001 --create-home antiphon
COPY --from=build /opt/antiphon /opt/antiphon
COPY voices/default /opt/voices/default
ENV PATH=/opt/antiphon/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    ANTIPHON_LISTEN__HOST=0.0.0.0 \
    ANTIPHON_ENGINE__BUNDLE_DIR=/opt/voices/default \
    ANTIPHON_LOG__FORMAT=json
USER 10001
EXPOSE 50051 9464
ENTRYPOINT ["antiphon"]
CMD ["serve"]
