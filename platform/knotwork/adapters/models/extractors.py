"""Which extractor reads for a tenant."""

from __future__ import annotations

from knotwork.adapters.models.openai_extractor import OpenAIExtractor
from knotwork.adapters.models.openai_http import OpenAIEndpoint
from knotwork.domain.catalogue import TenantSettings
from knotwork.errors import SetupFailed
from knotwork.ports.models import Extractor


class NoExtractors:
    """No extractor is configured: no graph is built."""

    configured = False

    def for_tenant(self, settings: TenantSettings) -> Extractor:
        """Never called while `configured` is False."""
        del settings
        raise SetupFailed("no extractor is configured; set KNOTWORK_EXTRACTOR to packaged or openai")


class OneExtractor:
    """The same extractor for every tenant."""

    configured = True

    def __init__(self, extractor: Extractor) -> None:
        self._extractor = extractor

    def for_tenant(self, settings: TenantSettings) -> Extractor:
        """The extractor, whatever the settings are."""
        del settings
        return self._extractor


class EndpointExtractors:
    """A chat endpoint, asked for the model that the tenant names, else for the configured one."""

    configured = True

    def __init__(self, endpoint: OpenAIEndpoint, *, model: str) -> None:
        self._endpoint, self._model = endpoint, model
        self._by_model: dict[str, Extractor] = {}

    def for_tenant(self, settings: TenantSettings) -> Extractor:
        """The extractor of the tenant's present model."""
        model = settings.extraction_model or self._model
        if model not in self._by_model:
            self._by_model[model] = OpenAIExtractor(self._endpoint, model=model)
        return self._by_model[model]
