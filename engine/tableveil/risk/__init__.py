"""Re-identification risk computed from class sizes, and from the distinct combinations of values."""

from tableveil.risk.attribute_risk import (
    MOST_SUBSETS,
    AttributeRisk,
    SubsetRisks,
    default_size,
    largest_size,
    number_of_subsets,
    proposed_identifiers,
    subset_risks,
)
from tableveil.risk.class_sizes import PopulationEstimates, population_estimates
from tableveil.risk.frequencies import Frequencies, check_people
from tableveil.risk.individual import IndividualRisk, WeightFacts, check_weights, individual_risk, individual_risks
from tableveil.risk.of_people import OwnedClasses, PeopleRisk, people_risk
from tableveil.risk.population import population_uniqueness
from tableveil.risk.prosecutor import ClassSizes, ProsecutorRisk, prosecutor_risk
from tableveil.risk.reidentification import AttackRisk, ReidentificationRisk, reidentification_risk
from tableveil.risk.special_uniques import intruder_success, score_of
from tableveil.risk.subsets import class_sizes_by
