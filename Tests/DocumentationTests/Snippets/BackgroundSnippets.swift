import Foundation
import LFS
import LFSBackground

// snippet
@MainActor
final class Uploads {
    let lfs: LFSManager
    let background: BackgroundUploads

    init(_ lfs: LFSManager, session: some BackgroundSession) throws {
        self.lfs = lfs
        background = try BackgroundUploads(lfs, session: session)
    }

    /// Call it once, right after each launch, in a task that lives as long as the app.
    func run() async { await background.run() }

    /// Call it within a background task of the system, which gives the app some seconds.
    func appLeftTheScreen() async throws {
        let count = try await background.handOver()
        print("The system uploads \(count) files.")
        // Releases all locks. iOS ends a suspended app that holds one.
        try await lfs.suspend(finishingWithin: .seconds(3))
    }

    func appBecameActive() async throws {
        try await lfs.resumeFromSuspension()
        try await background.refresh()
    }
}
// end

#if canImport(Darwin)
// snippet
let session = URLSessionBackground(identifier: "app.example.uploads")

/// Call it in `application(_:handleEventsForBackgroundURLSession:completionHandler:)`.
@MainActor
func handleEvents(_ completionHandler: @escaping () -> Void) {
    session.handleEvents { completionHandler() }
}
// end
#endif
