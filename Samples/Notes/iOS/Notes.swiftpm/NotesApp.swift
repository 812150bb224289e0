import Foundation
import GRDB
import LFS
import LFSBackground
import SwiftUI
import UIKit

@main
struct NotesApp: App {
    @UIApplicationDelegateAdaptor private var delegate: NotesDelegate
    @Environment(\.scenePhase) private var phase
    @State private var library: NoteLibrary?
    @State private var problem: String?

    var body: some Scene {
        WindowGroup {
            NavigationStack {
                if let library {
                    NoteList(library: library)
                } else {
                    Text(problem ?? "Opening…")
                }
            }
            .task { await attempt { try await open() } }
        }
        .onChange(of: phase) { changed() }
    }

    private func open() async throws {
        let folder = try FileManager.default.url(
            for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
        let library = try await NoteLibrary.open(in: folder, session: delegate.session)
        self.library = library
        try await library.run()
    }

    /// Follows the app onto the screen and away from it. The system gives a background task some seconds.
    private func changed() {
        guard let library else { return }
        switch phase {
        case .active:
            Task { await attempt { try await library.appear() } }
        case .background:
            let application = UIApplication.shared
            let work = Task { await attempt { try await library.disappear() } }
            let time = application.beginBackgroundTask { work.cancel() }
            Task {
                await work.value
                application.endBackgroundTask(time)
            }
        default: break
        }
    }

    private func attempt(_ body: () async throws -> Void) async {
        do { try await body() } catch is CancellationError {} catch { problem = error.localizedDescription }
    }
}

/// The receiver of the system's events about background uploads.
@MainActor
final class NotesDelegate: NSObject, UIApplicationDelegate {
    let session = URLSessionBackground(identifier: "example.lfs.notes.uploads")

    func application(
        _ application: UIApplication, handleEventsForBackgroundURLSession identifier: String,
        completionHandler: @escaping () -> Void
    ) {
        // UIKit calls this on the main thread, and expects the handler's call there.
        nonisolated(unsafe) let completed = completionHandler
        session.handleEvents { completed() }
    }
}
