import MeshCore
import Testing

@Suite struct PrintableTests {
  @Test("printable text replaces control and direction characters") func whatCouldMisleadATerminalIsReplaced() {
    #expect(printable("a\u{1b}[31mb") == "a\u{fffd}[31mb")
    #expect(printable("a\nb\r\u{0}") == "a\u{fffd}b\u{fffd}\u{fffd}")
    #expect(printable("\u{202e}evil\u{2066}") == "\u{fffd}evil\u{fffd}")
    #expect(printable("\u{feff}\u{2028}") == "\u{fffd}\u{fffd}")
  }

  @Test("printable text keeps ordinary text, emoji and other scripts") func ordinaryTextStaysAsItIs() {
    for text in ["", "desk", "Küche 中文", "👩‍💻", "नमस्ते", "می‌خواهم"] { #expect(printable(text) == text) }
  }

  @Test("printable text shortens long text with an ellipsis") func longTextIsCutWithAnEllipsis() {
    #expect(printable("abcdef", limit: 4) == "abc…")
    #expect(printable("abcd", limit: 4) == "abcd")
    #expect(printable("ab", limit: 0) == "…")
  }
}
