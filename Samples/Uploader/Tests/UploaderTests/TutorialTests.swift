import Foundation
import Testing

@Suite("Tutorials", .timeLimit(.minutes(10)))
struct TutorialTests {
    private static let catalog = "Sources/Core/LFS/LFS.docc"

    @Test("The tutorial of the backup prints what its page shows")
    func backup() throws {
        let tutorial = try Tutorial("\(Self.catalog)/BackUpAFolder.md")
        #expect(tutorial.steps.count > 10)
        try withFolder { folder in
            try tutorial.run(in: folder)
            let restored = folder.appendingPathComponent("new-machine/Restored/Pictures").path
            #expect(try FileManager.default.subpathsOfDirectory(atPath: restored).count == 5)
        }
    }

    @Test("The tutorial of the server prints what its page shows", .enabled(if: SyncServerProcess.path != nil))
    func server() throws {
        let programs = URL(fileURLWithPath: try #require(SyncServerProcess.path)).deletingLastPathComponent().path
        let tutorial = try Tutorial("\(Self.catalog)/ServerAndTwoDevices.md")
        #expect(tutorial.steps.count > 10)
        try withFolder { folder in
            try tutorial.run(in: folder, programs: programs, port: SyncServerProcess.freePort())
        }
    }
}
