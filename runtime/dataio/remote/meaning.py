"""What a failure means: whether to try again, and the diagnostic if not.

Sources: the list of error codes in Amazon S3's API reference; botocore's exceptions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

UNANSWERED = "E-STORE-021"
CREDENTIALS = "E-STORE-022"

_TRY_AGAIN = {"SlowDown", "InternalError", "ServiceUnavailable", "RequestTimeout", "Throttling", "ThrottlingException",
              "TooManyRequests", "RequestLimitExceeded", "BandwidthLimitExceeded", "OperationAborted", "503", "500"}
_EXPIRED = {"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "RequestExpired"}
_REFUSED = {"InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "RequestTimeTooSkewed", "InvalidSecurity",
            "NotSignedUp", "AccountProblem", "AuthorizationHeaderMalformed"}
_DENIED = {"AccessDenied", "AllAccessDisabled", "Forbidden", "403"}
_MISSING = {"NoSuchKey", "NotFound", "404"}
_CHANGED = {"PreconditionFailed", "412", "InvalidRange", "416"}

_WHERE_FROM = ("credentials come from the standard AWS chain (environment, profile, SSO, role); "
               "AWS_NO_SIGN_REQUEST=1 reads a public bucket without any")
_NEW_NAME = "write new data under a new name, and its manifest again"


@dataclass(frozen=True, slots=True)
class Failure:
    """`message` and `notes` are facts, only `fix` advises. `expired` where new credentials may help."""

    code: str
    message: str
    notes: tuple[str, ...] = ()
    fix: str = ""
    retry: bool = False
    expired: bool = False

    def given_up(self, name: str, tries: int, why: str) -> Failure:
        """The same failure, after trying was of no use."""
        if self.code != UNANSWERED:
            return replace(self, notes=(*self.notes, f"{why} after {tries} tries"))
        return replace(self, message=f"`{name}` could not be read: {why} after {tries} tries in a row without a byte",
                       notes=(f"at last: {self.message}", *self.notes))


class Refused(Exception):
    """An answer that is no use, although S3 gave it without an error."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def changed(name: str, what: str, *notes: str) -> Failure:
    return Failure("E-STORE-007", f"`{name}` has changed while it was in use: {what}", notes, _NEW_NAME)


def failure_of(error: Exception, name: str) -> Failure:
    """What an exception of boto3, or a `Refused`, means for the object `name`."""
    from botocore import exceptions as boto
    from urllib3.exceptions import HTTPError

    match error:
        case Refused():
            return error.failure
        case boto.ClientError():
            return _answered(error, name)
        case boto.SSLError():
            if "CERTIFICATE" in str(error).upper():
                return Failure(UNANSWERED, f"the certificate of the store of `{name}` is not trusted",
                               (_one_line(error),), "name the right bundle in AWS_CA_BUNDLE")
        case boto.CredentialRetrievalError() | boto.MetadataRetrievalError():
            return Failure(CREDENTIALS, f"no credentials could be had to read `{name}`", (_one_line(error),),
                           _WHERE_FROM, retry=True)
        case (boto.NoCredentialsError() | boto.PartialCredentialsError() | boto.ProfileNotFound() | boto.SSOError()
              | boto.LoginError() | boto.NoAuthTokenError() | boto.TokenRetrievalError() | boto.ConfigParseError()
              | boto.ConfigNotFound() | boto.UnknownCredentialError() | boto.InfiniteLoopConfigError()
              | boto.RefreshWithMFAUnsupportedError() | boto.MissingDependencyException()
              | boto.InvalidConfigError()):
            return Failure(CREDENTIALS, f"there are no usable credentials to read `{name}`", (_one_line(error),),
                           _WHERE_FROM)
        case boto.ConnectionError() | boto.HTTPClientError() | boto.IncompleteReadError() | HTTPError() | OSError():
            pass
        case boto.ParamValidationError() | boto.EndpointProviderError() | ValueError():
            return Failure("E-STORE-020", f"`{name}` cannot be asked for", (_one_line(error),),
                           "check the URI, AWS_REGION and AWS_ENDPOINT_URL")
        case _:
            return Failure("E-STORE-008", f"`{name}` could not be read: {type(error).__name__}", (_one_line(error),))
    return Failure(UNANSWERED, f"the connection to the store of `{name}` failed", (_one_line(error),),
                   "check the network and the endpoint (AWS_ENDPOINT_URL, AWS_REGION), then resume", retry=True)


def _answered(error: Exception, name: str) -> Failure:
    """An answer of S3 that is an error."""
    response = getattr(error, "response", {})
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    code = str(response.get("Error", {}).get("Code", "")) or str(status)
    text = str(response.get("Error", {}).get("Message", ""))
    said = f"S3 answered {status} {code}" + (f": {' '.join(text.split())[:200]}" if text else "")
    if code in _EXPIRED:
        return Failure(CREDENTIALS, f"the credentials to read `{name}` have expired", (said,), _WHERE_FROM,
                       retry=True, expired=True)
    if code in _TRY_AGAIN or status >= 500 or status == 429:
        return Failure(UNANSWERED, f"the store of `{name}` is overloaded or broken", (said,), "resume later",
                       retry=True)
    if code in _CHANGED or status in (412, 416):
        return changed(name, "its etag or its size is another one", said)
    if code == "NoSuchBucket":
        return Failure("E-STORE-001", f"there is no bucket for `{name}`", (said,),
                       "check the name, and the endpoint (AWS_ENDPOINT_URL)")
    if code in _MISSING or status == 404:
        return Failure("E-STORE-001", f"there is no object `{name}`", (said,),
                       "a URI names one object; nothing in it is a pattern")
    if code in _REFUSED or status == 401:
        return Failure(CREDENTIALS, f"the credentials to read `{name}` were refused", (said,), _WHERE_FROM)
    if code in _DENIED or status == 403:
        return Failure("E-STORE-002", f"no permission to read `{name}`",
                       (said, "S3 says so of a missing object too, where the bucket may not be listed"), _WHERE_FROM)
    return Failure("E-STORE-008", f"`{name}` could not be read", (said,))


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
