-- Released ages are labels such as [40, 50[, so they are grouped and never averaged.
select age, diagnosis, count(*) as records
from {{ source('released', 'discharges_released') }}
group by age, diagnosis
