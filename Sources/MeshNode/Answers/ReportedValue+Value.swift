import Foundation
import MeshControl
import MeshCore

extension ReportedValue {
  init(_ value: Value) {
    switch value {
    case .null: self = .null
    case .integer(let integer): self = .integer(integer)
    case .real(let bits): self = .real(Double(bitPattern: bits))
    case .text(let bytes): self = .text(String(decoding: bytes, as: UTF8.self))
    case .blob(let bytes): self = .blob(bytes)
    case .asset(let asset): self = .asset(asset.id.description, size: asset.size)
    }
  }
}

extension Date {
  init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1_000) }
}

extension [UInt8] {
  var hexadecimal: String { map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() }
}
