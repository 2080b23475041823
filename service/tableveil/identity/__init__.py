"""Identity: principals, and the credentials that prove them. Loads no database: the client uses it as well."""

from tableveil.identity.principal import AuthenticatedBy, Authenticator, Credentials, Principal, Unauthenticated
