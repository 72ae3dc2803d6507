"""The rules of the packaged extractor: from a chunk of text to names and typed relationships, with no network."""
