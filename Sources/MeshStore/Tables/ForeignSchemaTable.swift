import MeshCore

/// The tables as other devices describe them (`mesh_foreign_schema`).
struct ForeignSchemaTable {
  let sql: Connection

  struct Entry {
    let device: DeviceID?
    let table: SchemaDescription
    /// The encoded rules. Nil if the device told none.
    let rules: [UInt8]?
    let formerNames: FormerNames
  }

  func devices() throws -> [DeviceID] {
    try sql.all("SELECT DISTINCT device FROM mesh_foreign_schema") { DeviceID($0.bytes(0)) }.compactMap(\.self)
  }

  /// Returns all descriptions, in the order of names and devices.
  func list() throws -> [Entry] {
    try sql.all("SELECT device, bytes, rules, names FROM mesh_foreign_schema ORDER BY name, device") { row in
      var reader = ByteReader(row.bytes(1))
      let table = try SchemaDescription(from: &reader)
      var names = FormerNames()
      if let bytes = row.optionalBytes(3) {
        var reader = ByteReader(bytes)
        names = try FormerNames(from: &reader)
      }
      return Entry(device: DeviceID(row.bytes(0)), table: table, rules: row.optionalBytes(2), formerNames: names)
    }
  }

  func insert(_ description: SchemaDescription, of device: DeviceID) throws {
    var writer = ByteWriter()
    description.write(to: &writer)
    var names = ByteWriter()
    description.formerNames.write(to: &names)
    try sql.run(
      "INSERT OR REPLACE INTO mesh_foreign_schema (device, name, bytes, rules, names) VALUES (?, ?, ?, ?, ?)",
      [
        .blob(device.bytes), .text(description.name), .blob(writer.bytes),
        description.rules.map { .blob($0.encoded) } ?? .null, .blob(names.bytes),
      ])
  }

  func removeAll(of device: DeviceID) throws {
    try sql.run("DELETE FROM mesh_foreign_schema WHERE device = ?", [.blob(device.bytes)])
  }
}
