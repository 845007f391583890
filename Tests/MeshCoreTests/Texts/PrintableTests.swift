import MeshCore
import Testing

@Suite struct PrintableTests {
  @Test func whatCouldMisleadATerminalIsReplaced() {
    #expect(printable("a\u{1b}[31mb") == "a\u{fffd}[31mb")
    #expect(printable("a\nb\r\u{0}") == "a\u{fffd}b\u{fffd}\u{fffd}")
    #expect(printable("\u{202e}evil\u{2066}") == "\u{fffd}evil\u{fffd}")
    #expect(printable("\u{feff}\u{2028}") == "\u{fffd}\u{fffd}")
  }

  @Test func ordinaryTextStaysAsItIs() {
    for text in ["", "desk", "Küche 中文", "👩‍💻", "नमस्ते", "می‌خواهم"] { #expect(printable(text) == text) }
  }

  @Test func longTextIsCutWithAnEllipsis() {
    #expect(printable("abcdef", limit: 4) == "abc…")
    #expect(printable("abcd", limit: 4) == "abcd")
    #expect(printable("ab", limit: 0) == "…")
  }
}
