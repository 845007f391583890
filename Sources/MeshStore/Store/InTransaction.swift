import GRDB
import MeshCore

/// Work that one transaction does. It reads and writes the file through the transaction.
protocol InTransaction: TableAccess { var transaction: Transaction { get } }

extension InTransaction {
  var db: Database { transaction.db }
  var sql: Connection { transaction.sql }
  var catalog: Catalog { transaction.catalog }
  var counters: TransactionCounters { transaction.counters }
  var cryptography: any Cryptography { transaction.cryptography }
  var staged: StagedAssets { transaction.staged }
  var contents: AssetContents { transaction.contents }

  func reached(_ branch: RareBranch) { transaction.reached(branch) }
}
