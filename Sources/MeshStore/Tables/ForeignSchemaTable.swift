import MeshCore

/// The tables as other devices describe them (`mesh_foreign_schema`).
struct ForeignSchemaTable {
  let sql: Connection

  struct Entry {
    let device: DeviceID?
    let table: SchemaDescription
    /// The encoded rules. Nil if the device told none.
    let rules: [UInt8]?
  }

  func devices() throws -> [DeviceID] {
    try sql.all("SELECT DISTINCT device FROM mesh_foreign_schema") { DeviceID($0.bytes(0)) }.compactMap(\.self)
  }

  /// Returns all descriptions, in the order of names and devices.
  func list() throws -> [Entry] {
    try sql.all("SELECT device, bytes, rules FROM mesh_foreign_schema ORDER BY name, device") { row in
      var reader = ByteReader(row.bytes(1))
      return Entry(
        device: DeviceID(row.bytes(0)), table: try SchemaDescription(from: &reader), rules: row.optionalBytes(2))
    }
  }

  func insert(_ description: SchemaDescription, of device: DeviceID) throws {
    var writer = ByteWriter()
    description.write(to: &writer)
    try sql.run(
      "INSERT OR REPLACE INTO mesh_foreign_schema (device, name, bytes, rules) VALUES (?, ?, ?, ?)",
      [
        .blob(device.bytes), .text(description.name), .blob(writer.bytes),
        description.rules.map { .blob($0.encoded) } ?? .null,
      ])
  }

  func removeAll(of device: DeviceID) throws {
    try sql.run("DELETE FROM mesh_foreign_schema WHERE device = ?", [.blob(device.bytes)])
  }
}
