# The service alone, for the server stack of compose.yaml: Neo4j and Qdrant run beside it.
FROM python:3.11-slim AS build
WORKDIR /src
COPY requirements.lock pyproject.toml README.md LICENSE ./
RUN python -m venv /opt/knotwork && /opt/knotwork/bin/pip install --no-cache-dir --require-hashes -r requirements.lock
COPY platform platform
COPY cypher cypher
COPY samples samples
RUN /opt/knotwork/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM python:3.11-slim
RUN useradd --create-home --uid 10001 knotwork && install -d -o knotwork /home/knotwork/data
COPY --from=build /opt/knotwork /opt/knotwork
ENV PATH=/opt/knotwork/bin:$PATH KNOTWORK_HOME=/home/knotwork/data
USER knotwork
VOLUME /home/knotwork/data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD python -c "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/v1/health', timeout=4)"
ENTRYPOINT ["knotwork"]
CMD ["serve"]
