import GRDB
import MeshCore

/// A step of the work inside one transaction.
protocol Step: TableAccess { var transaction: Transaction { get } }

extension Step {
  var db: Database { transaction.db }
  var sql: Connection { transaction.sql }
  var catalog: Catalog { transaction.catalog }
  var counters: TransactionCounters { transaction.counters }
  var cryptography: any Cryptography { transaction.cryptography }
  var staged: StagedAssets { transaction.staged }
  var contents: AssetContents { transaction.contents }

  func reached(_ branch: RareBranch) { transaction.reached(branch) }
}
