# The server on an NVIDIA GPU with TensorRT. Build it from the repository's root, run it with the NVIDIA container toolkit:
#   docker build -f deploy/docker/gpu.Dockerfile -t antiphon-gpu .
#   docker run --gpus all -v antiphon-plans:/var/lib/antiphon -p 50051:50051 antiphon-gpu
# The first start builds the plans for the GPU it finds, minutes, into the volume; later starts find them there.
FROM nvidia/cuda:13.0.2-base-ubuntu24.04 AS base
# Ubuntu 24.04's own Python is 3.12; the driver comes from the host, TensorRT's libraries from its wheels.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*

FROM base AS build
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends cmake g++ make python3-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
RUN python3 -m venv /opt/antiphon
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY antiphon antiphon
COPY build_engines build_engines
COPY clients clients
COPY proto proto
COPY server server
COPY training training
COPY trt_engines trt_engines
COPY voices voices
RUN /opt/antiphon/bin/pip install --no-cache-dir '.[tensorrt]' ./trt_engines/native

FROM base
RUN useradd --uid 10001 --create-home antiphon \
    && install --directory --owner=antiphon /var/lib/antiphon
COPY --from=build /opt/antiphon /opt/antiphon
COPY voices/default /opt/voices/default
COPY deploy/docker/gpu-entrypoint.sh /usr/local/bin/antiphon-gpu
ENV PATH=/opt/antiphon/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    ANTIPHON_LISTEN__HOST=0.0.0.0 \
    ANTIPHON_ENGINE__BACKEND=tensorrt \
    ANTIPHON_ENGINE__BUNDLE_DIR=/opt/voices/default \
    ANTIPHON_ENGINE__PLANS_DIR=/var/lib/antiphon/plans \
    ANTIPHON_ENGINE__SLOT_COUNT=32 \
    ANTIPHON_LOG__FORMAT=json
USER 10001
VOLUME /var/lib/antiphon
EXPOSE 50051 9464
ENTRYPOINT ["antiphon-gpu"]
CMD ["serve"]
