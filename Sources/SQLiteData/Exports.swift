// These are the names that an app needs beside this module, so that `import SQLiteData` is enough.

@_exported public import Dependencies
@_exported public import SQLiteDataQueries

@_exported public import struct GRDB.Configuration
@_exported public import class GRDB.Database
@_exported public import struct GRDB.DatabaseError
@_exported public import struct GRDB.DatabaseMigrator
@_exported public import class GRDB.DatabasePool
@_exported public import class GRDB.DatabaseQueue
@_exported public import protocol GRDB.DatabaseReader
@_exported public import protocol GRDB.DatabaseWriter
@_exported public import protocol GRDB.ValueObservationScheduler
@_exported public import func IssueReporting.reportIssue
@_exported public import func IssueReporting.withErrorReporting
@_exported public import struct Logging.Logger
