import GRDB

/// A step of the work inside one transaction.
protocol Step { var transaction: Transaction { get } }

extension Step {
  var db: Database { transaction.db }
  var sql: Connection { transaction.sql }
  var catalog: Catalog { transaction.catalog }
}
