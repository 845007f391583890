import CSQLite
import GRDB

/// Steps a statement whose parameters were bound by hand. True where there is a row.
func stepped(_ statement: Statement) throws -> Bool {
  switch sqlite3_step(statement.sqliteStatement) {
  case SQLITE_ROW: return true
  case SQLITE_DONE: return false
  case let code: throw DatabaseError(resultCode: ResultCode(rawValue: code))
  }
}
