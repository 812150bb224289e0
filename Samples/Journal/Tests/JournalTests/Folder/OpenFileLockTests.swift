import Foundation
import Testing

@testable import JournalStorage

@Suite("Locks of the folder's files")
struct OpenFileLockTests {
    /// A descriptor that is not open fails like a file system without locks, with another number.
    @Test("A lock that the system cannot provide is an error, not a busy file")
    func missing() {
        #expect(throws: SystemFailure.self) { try OpenFile(-1).tryLock() }
    }

    @Test("A locked file is busy for a second opening until it is closed")
    func busy() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        try Data().write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let second = OpenFile(open(path, O_RDWR | O_CLOEXEC))
        do {
            let first = OpenFile(open(path, O_RDWR | O_CLOEXEC))
            try withExtendedLifetime(first) { () throws in
                #expect(try first.tryLock())
                #expect(try !second.tryLock())
            }
        }
        #expect(try second.tryLock())
    }
}
