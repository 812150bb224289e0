import Foundation
import GRDB
import JournalStorage
import LFS
import Testing

@testable import JournalStorage
@testable import JournalWeb

@Suite("Pages for errors", .timeLimit(.minutes(10)))
struct ErrorPageTests {
    private func form(_ web: WebSubject, bytes: Int) async throws -> HTTPReply {
        let type = ["Content-Type": "application/x-www-form-urlencoded"]
        return try await web.send("POST", path: "/records", headers: type, body: Data(repeating: 0x61, count: bytes))
    }

    @Test("A missing page, a form of another browser and a large form say what to do")
    func shown() async throws {
        try await withWeb { subject in
            var web = try await subject.visiting()
            let missing = try await web.get("/records/\(UUID().uuidString.lowercased())")
            #expect(missing.status == 404 && missing.text.contains("<h1>Not found</h1>"))
            #expect(missing.text.contains("href=\"/trash\""))
            let large = try await form(web, bytes: Form.maxByteCount + 1)
            #expect(large.status == 413 && large.text.contains("<h1>Too large</h1>"))
            web.token = String(repeating: "0", count: 64)
            let foreign = try await web.post("/records")
            #expect(foreign.status == 403 && foreign.text.contains("<h1>Not allowed</h1>"))
            #expect(foreign.text.contains("repeat the change there"))
        }
    }

    @Test("A full disk is reported as such, whether a file or the database finds it")
    func full() async throws {
        let errors: [any Error] = [
            LFSError(.noSpace, message: "The disk is full."), DatabaseError(resultCode: .SQLITE_FULL),
        ]
        for error in errors {
            await #expect(throws: FileStorageError.noSpace) {
                try await DatabaseStorageService.catching {
                    .fileWriteFailed(name: "x", reason: $0)
                } _: {
                    throw error
                }
            }
        }
        let page = ErrorView(JournalResponder.status(of: FileStorageError.noSpace), message: "", request: "")
        #expect(page.code == 507 && page.heading == "The disk is full" && page.link == "/storage")
    }
}
