import Foundation
import MeshControl
import MeshCore
import MeshNode
import Testing

@Suite struct ControlValueTests {
  @Test(
    "a duration is a whole number and a unit",
    arguments: [("0s", 0), ("90s", 90), ("15m", 900), ("2h", 7_200), ("7d", 604_800), ("365d", 31_536_000)])
  func aDurationIsANumberAndAUnit(text: String, seconds: Int) throws {
    #expect(try Duration(text: text) == .seconds(seconds))
  }

  @Test(
    "a malformed duration is rejected",
    arguments: ["", "s", "10", "-1s", "+1s", "1.5h", "1h30m", "1w", " 1s", "99999999999999999999s"])
  func whatIsNoDurationIsRefused(text: String) {
    #expect(throws: DurationTextError(code: .malformed)) { try Duration(text: text) }
  }

  @Test("a duration of more than a year is rejected", arguments: ["366d", "31536001s", "9223372036854775807d"])
  func aDurationOverAYearIsRefused(text: String) {
    #expect(throws: DurationTextError(code: .tooLong)) { try Duration(text: text) }
  }

  @Test(
    "the expiry of an invite is clamped between zero and one year",
    arguments: [("1e300", 31_536_000.0), ("-1e300", 0), ("1.5", 1.5)])
  func anInviteWorksNoLongerThanTheLongestDuration(seconds: String, expected: Double) throws {
    let json = #"{"share":"s","permission":"read-only","expiresSeconds":\#(seconds)}"#
    let request = try ControlJSON.decode(ShareInviteRequest.self, from: Array(json.utf8))
    #expect(request.expires == .milliseconds(Int64(expected * 1_000)))
  }

  @Test("a time keeps its milliseconds in JSON", arguments: [0, 1, 122, 123, 500, 998, 999])
  func timesKeepTheirMilliseconds(milliseconds: Int) throws {
    let date = Date(timeIntervalSince1970: Double(1_790_000_000_000 + milliseconds) / 1_000)
    let fraction = String(String(1_000 + milliseconds).dropFirst())
    let json = try ControlJSON.encode([date])
    #expect(String(decoding: json, as: UTF8.self) == #"["2026-09-21T14:13:20.\#(fraction)Z"]"#)
    let read = try #require(try ControlJSON.decode([Date].self, from: json).first)
    #expect(abs(read.timeIntervalSince(date)) < 0.000_5)
  }

  @Test(
    "a value shows its type, and is one word of a shell's command",
    arguments: [
      (ReportedValue.text("n1"), "n1", "n1"), (.integer(1), "1", "1"), (.text("1"), "'1'", "\"'1'\""),
      (.text("-1.5e3"), "'-1.5e3'", "\"'-1.5e3'\""), (.text("e"), "e", "e"), (.text("1 2"), "1 2", "\"1 2\""),
      (.text(""), "''", "\"''\""), (.blob([]), "x''", "\"x''\""), (.text("x''"), "'x'''''", "\"'x'''''\""),
      (.text("it's"), "it's", "\"it's\""), (.text("$1'"), "$1'", #"'$1'\'''"#),
    ])
  func aValueShowsItsType(value: ReportedValue, shown: String, argument: String) {
    #expect(value.description == shown)
    #expect(value.argument == argument)
  }

  @Test("printable text replaces control characters and shortens long text") func aPeersTextCannotPlayTricks() {
    #expect(printable("laptop é 👩‍👩‍👧 日本") == "laptop é 👩‍👩‍👧 日本")
    #expect(
      printable("a\u{1b}[31mb\u{202e}c\u{2066}d\ne\u{9b}f\u{feff}")
        == "a\u{fffd}[31mb\u{fffd}c\u{fffd}d\u{fffd}e\u{fffd}f\u{fffd}")
    #expect(printable("abcdef", limit: 4) == "abc…")
    #expect(printable("abcd", limit: 4) == "abcd")
  }

  @Test("a report's JSON has sorted keys, escapes control characters and decodes to the report")
  func jsonIsSortedAndLossless() throws {
    let report = ZoneReport(
      id: "zone-1", name: "a\u{202e}b\u{9b}\u{e0001}/c", owner: "account-1", role: .readWrite, records: 3,
      vector: ["b": 2, "a": .max], digest: "00ff")
    let text = String(decoding: try ControlJSON.encode(report), as: UTF8.self)
    #expect(
      text == """
        {"digest":"00ff","id":"zone-1","name":"a\\u202eb\\u009b\\udb40\\udc01/c","owner":"account-1","records":3,\
        "role":"read-write","vector":{"a":18446744073709551615,"b":2}}
        """)
    #expect(try ControlJSON.decode(ZoneReport.self, from: Array(text.utf8)) == report)
  }

  @Test("numbers of change sets that others claim can be summed over all devices and zones")
  func claimedNumbersAreBounded() {
    let claimed = PeerReport.Behind(counted: .max, there: .max)
    let (sum, overflow) = claimed.here.multipliedReportingOverflow(by: Choices.sessions * Limits.zones)
    #expect(!overflow && sum > 0 && claimed.here == claimed.there)
    var both = PeerReport.Behind(counted: 2, there: 3)
    both += claimed
    #expect(both == PeerReport.Behind(here: claimed.here + 2, there: claimed.there + 3))
  }

  @Test("an unknown value of a report is null in JSON") func whatIsNotKnownIsNull() throws {
    let report = PeerReport(
      device: nil, account: nil, name: nil, address: "a:1", connected: false, behind: .init(here: 0, there: 0),
      lastError: nil)
    let json = try ControlJSON.encode(report)
    let text = String(decoding: json, as: UTF8.self)
    #expect(text.contains("\"device\":null"))
    #expect(text.contains("\"lastError\":null"))
    #expect(try ControlJSON.decode(PeerReport.self, from: json) == report)
  }

  @Test(
    "each kind of value has one form in JSON and decodes from it",
    arguments: [
      (ReportedValue.null, "null"), (.integer(.min), "-9223372036854775808"), (.real(1.5), "1.5"),
      (.text("é"), "\"é\""),
      (.blob([0, 255]), "{\"blob\":\"00ff\"}"), (.blob([]), "{\"blob\":\"\"}"),
    ])
  func aValueHasItsForm(value: ReportedValue, json: String) throws {
    let bytes = try ControlJSON.encode(value)
    #expect(String(decoding: bytes, as: UTF8.self) == json)
    #expect(try ControlJSON.decode(ReportedValue.self, from: bytes) == value)
  }
}
