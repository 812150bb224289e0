import LFSSystem
import Testing

@testable import LFSSettings

@Suite("Stored paths and temporary names", .timeLimit(.minutes(10)))
struct NotedPathTests {
    @Test("A path in the folder of the database is stored relative to it")
    func inside() {
        let note = NotedPath.note(of: "/data/caf\u{E9}/app.settings", databasePath: "/data/caf\u{E9}/app.sqlite")
        #expect(note == "./app.settings")
        #expect(NotedPath.path(ofNote: note, databasePath: "/moved/app.sqlite") == "/moved/app.settings")
    }

    @Test("A path in a folder with an equivalent name of other bytes is stored as it is")
    func equivalent() {
        let path = "/data/cafe\u{301}/app.settings"
        let note = NotedPath.note(of: path, databasePath: "/data/caf\u{E9}/app.sqlite")
        #expect(Array(note.utf8) == Array(path.utf8))
    }

    @Test("A temporary name has the same bytes at its beginning, an id and the ending")
    func temporary() {
        let id = FileID.make().text
        #expect(Path.isMade(".caf\u{E9}.\(id).tmp", beginning: ".caf\u{E9}.", ending: ".tmp"))
        #expect(!Path.isMade(".cafe\u{301}.\(id).tmp", beginning: ".caf\u{E9}.", ending: ".tmp"))
        #expect(!Path.isMade(".caf\u{E9}.tmp", beginning: ".caf\u{E9}.", ending: ".tmp"))
    }
}
