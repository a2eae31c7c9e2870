"""Requests of schemathesis are changed here before they are sent, see openapi.py."""
import schemathesis


@schemathesis.hook
def before_call(context, case, kwargs):
    """A run that begins much later would be waited for."""
    for run in case.body if isinstance(case.body, list) else [case.body]:
        if isinstance(run, dict):
            run.pop("after_seconds", None)
