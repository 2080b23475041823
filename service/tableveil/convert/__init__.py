"""The only place that maps protos to domain objects and back; names, page tokens and canonical JSON included."""

from tableveil.convert.admin import backup_to_proto, finding_to_proto
from tableveil.convert.hierarchies import stored_hierarchy_to_proto
from tableveil.convert.hierarchy_views import (
    comparison_to_proto,
    example_limit,
    preview_request_from_proto,
    preview_to_proto,
    stored_levels_from_proto,
)
from tableveil.convert.jobs import failure_to_proto, fault_to_proto, job_to_proto
from tableveil.convert.names import (
    canonical_json,
    job_name,
    job_number,
    policy_from_json,
    release_name,
    release_number,
    result_name,
    result_number,
)
from tableveil.convert.pages import hierarchy_token, number_token, page_size, read_hierarchy_token, read_number_token
from tableveil.convert.policy_from_proto import given_reason, policy_from_proto, stored_policy
from tableveil.convert.privacy import privacy_in_words
from tableveil.convert.releases import release_to_proto
