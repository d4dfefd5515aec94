"""Validate an RO-Crate against the Process Run Crate profile with roc-validator, without network; print the result as JSON.

    .venv-crate/bin/python validate_crate.py CRATE CONTEXTS CACHE

CONTEXTS is a JSON object of addresses with the JSON-LD contexts that the crate names. They are put into CACHE, where the
validator looks for them; it runs offline.
"""

import json
import sys
from pathlib import Path

import requests
import requests_cache
import urllib3
from rocrate_validator import models, services

crate, contexts, cache = map(Path, sys.argv[1:])
with requests_cache.CachedSession(cache) as session:
    for url, body in json.loads(contexts.read_text()).items():
        answer = requests.Response()
        answer.status_code, answer.url, answer.raw = 200, url, urllib3.HTTPResponse(status=200)
        answer.headers["Content-Type"] = "application/ld+json"
        answer._content = json.dumps(body).encode()
        answer.request = requests.Request("GET", url).prepare()
        session.cache.save_response(answer)
settings = models.ValidationSettings(
    rocrate_uri=str(crate),
    profile_identifier="process-run-crate-0.5",
    requirement_severity="REQUIRED",
    cache_path=cache,
    offline=True,
)
result = services.validate(settings)
issues = [f"{one.check.identifier}: {one.message}" for one in result.get_issues()]
print(json.dumps({"checks": len(result.executed_checks), "issues": issues}))
