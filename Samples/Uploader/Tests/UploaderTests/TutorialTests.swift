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
            #expect(try Self.visibleNames(in: folder) == [])
        }
    }

    @Test("The tutorial of the server prints what its page shows", .enabled(if: SyncServerProcess.path != nil))
    func server() throws {
        let programs = URL(fileURLWithPath: try #require(SyncServerProcess.path)).deletingLastPathComponent().path
        let tutorial = try Tutorial("\(Self.catalog)/ServerAndTwoDevices.md")
        #expect(tutorial.steps.count > 10)
        try withFolder { folder in
            try tutorial.run(in: folder, programs: programs, port: ReservedPort().number)
            #expect(try Self.visibleNames(in: folder) == [])
        }
    }

    /// Returns the names that a tutorial leaves in its folder, without those of the test itself.
    private static func visibleNames(in folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { !$0.hasPrefix(".") && $0 != "files" }
    }
}
