"""The documentation page, with its scripts from here: it works without a network."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.openapi.utils import get_openapi
from starlette.responses import HTMLResponse, RedirectResponse
from starlette.staticfiles import StaticFiles

from knotwork.api.problems import Problem
from knotwork.api.schemas import TextSource

ASSETS = "/docs/assets"
VALIDATION_ERROR = "#/components/schemas/HTTPValidationError"


def add_docs(app: FastAPI) -> None:
    """Serve /docs, and complete the OpenAPI document."""
    app.mount(ASSETS, StaticFiles(directory=Path(str(files("fastapi_offline") / "static"))), name="docs-assets")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return get_swagger_ui_html(
            openapi_url=app.openapi_url or "",
            title=f"{app.title} {app.version}",
            swagger_js_url=f"{ASSETS}/swagger-ui-bundle.js",
            swagger_css_url=f"{ASSETS}/swagger-ui.css",
            swagger_favicon_url=f"{ASSETS}/favicon.png",
        )

    @app.get("/", include_in_schema=False)
    async def root() -> RedirectResponse:
        return RedirectResponse("/docs")

    app.openapi = lambda: _openapi(app)


def _openapi(app: FastAPI) -> dict[str, object]:
    """FastAPI's document, with our schemas of errors and uploads in place of its own of validation errors."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        schemas = document["components"]["schemas"]
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        for model in (Problem, TextSource):
            schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
            schemas |= schema.pop("$defs", {}) | {model.__name__: schema}
        for path in document["paths"].values():
            for operation in path.values():
                if VALIDATION_ERROR in str(operation["responses"].get("422")):
                    del operation["responses"]["422"]
        app.openapi_schema = document
    return app.openapi_schema
