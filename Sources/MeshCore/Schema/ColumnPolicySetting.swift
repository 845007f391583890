/// The policy of a column, and the time at which a person set it. Of two settings, the later one wins.
package struct ColumnPolicySetting: Hashable, Sendable {
  /// The name of the column.
  package var column: String
  /// The policy that the person chose.
  package var policy: ColumnPolicy
  /// In milliseconds since 1970, from 0 to `latest`.
  package var time: Int64

  package init(column: String, policy: ColumnPolicy, time: Int64) {
    (self.column, self.policy, self.time) = (column, policy, min(max(time, 0), Self.latest))
  }

  /// The latest time that a setting has.
  package static let latest: Int64 = (1 << 48) - 1
  /// The greatest number of settings of one table that are sent.
  package static let limit = 256
}

/// The policies of the table with that name.
package struct NamedPolicies: Hashable, Sendable {
  /// The name of the table.
  package var table: String
  /// The settings of the table's columns, at most `ColumnPolicySetting.limit`.
  package var policies: [ColumnPolicySetting]

  package init(table: String, policies: [ColumnPolicySetting]) {
    (self.table, self.policies) = (table, policies)
  }

  /// Writes the table's name, then for each column its name, the policy's number and the time.
  package func write(to writer: inout ByteWriter) {
    writer.text(table)
    writer.list(policies) {
      $0.text($1.column)
      $0.byte($1.policy.rawValue)
      $0.varint(UInt64(clamping: $1.time))
    }
  }

  package init(from reader: inout ByteReader) throws(FormatError) {
    table = try reader.text(Limits.name, "table name")
    policies = try reader.list(ColumnPolicySetting.limit, "policies") { reader throws(FormatError) in
      let column = try reader.text(Limits.name, "column name")
      guard let policy = ColumnPolicy(rawValue: try reader.byte()) else { throw .unknown("policy") }
      return ColumnPolicySetting(
        column: column, policy: policy, time: Int64(try reader.count(Int(ColumnPolicySetting.latest), "time")))
    }
  }
}
