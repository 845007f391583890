import GRDB

/// A step of the work inside one transaction.
protocol Step { var session: Session { get } }

extension Step {
  var db: Database { session.db }
  var sql: Connection { session.sql }
  var catalog: Catalog { session.catalog }
}
