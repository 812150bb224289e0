import LFSSystem
import Testing

@testable import LFSSettings

@Suite("Temporary names", .timeLimit(.minutes(10)))
struct TemporaryNameTests {
    @Test("A temporary name has the same bytes at its beginning, an id and the ending")
    func temporary() {
        let id = FileID.make().text
        #expect(Path.isMade(".caf\u{E9}.\(id).tmp", beginning: ".caf\u{E9}.", ending: ".tmp"))
        #expect(!Path.isMade(".cafe\u{301}.\(id).tmp", beginning: ".caf\u{E9}.", ending: ".tmp"))
        #expect(!Path.isMade(".caf\u{E9}.tmp", beginning: ".caf\u{E9}.", ending: ".tmp"))
    }
}
