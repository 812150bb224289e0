import LFSSystem
import Testing

@Suite("Prefixes by bytes", .timeLimit(.minutes(10)))
struct PrefixTests {
    @Test("A prefix matches by its bytes and not by canonical equivalence")
    func prefixes() {
        let (composed, decomposed) = ("\u{E9}/", "e\u{301}/")
        #expect("\(decomposed)a".hasPrefix(composed))
        #expect("\(composed)a".text(afterPrefix: composed) == "a")
        #expect("\(decomposed)a".text(afterPrefix: composed) == nil)
        #expect("\(composed)a".text(afterPrefix: decomposed) == nil)
    }

    @Test("A prefix may end inside a character")
    func characters() {
        #expect("a/\u{301}b".text(afterPrefix: "a/").map { Array($0.utf8) } == Array("\u{301}b".utf8))
        #expect("a\r\nb".text(afterPrefix: "a\r") == "\nb")
    }

    @Test("The empty prefix and the whole text are prefixes")
    func ends() {
        #expect("abc".text(afterPrefix: "") == "abc" && "abc".text(afterPrefix: "abc") == "")
        #expect("ab".text(afterPrefix: "abc") == nil && "".text(afterPrefix: "") == "")
    }
}
