"""Apache Spark over Spark Connect as a place of rows; needs the extra `tableveil[spark]`."""

from tableveil.spark.declared import declared_warehouses
from tableveil.spark.warehouse import SparkWarehouse

__all__ = ["SparkWarehouse", "declared_warehouses"]
