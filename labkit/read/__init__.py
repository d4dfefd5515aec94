"""Campaigns as tables: records, metadata and times, beside published numbers."""
