import Foundation
import GRDB
import LFS
import PhotosUI
import SwiftUI
import UIKit

/// The notes, a field for the next one, and a picker for its photo.
struct NoteList: View {
    let library: NoteLibrary
    @State private var entries: [PhotoEntry] = []
    @State private var status: LFSStatus?
    @State private var text = ""
    @State private var picked: PhotosPickerItem?
    @State private var problem: String?

    var body: some View {
        List {
            Section {
                TextField("Text of the next note", text: $text)
                PhotosPicker("Add a photo", selection: $picked, matching: .images)
                Button("Keep all photos on this device") { run { try await library.keepOffline() } }
                NavigationLink("Account") { AccountForm(library: library) }
                if let problem { Text(problem) }
            }
            ForEach(entries) { entry in
                NoteRow(entry: entry, status: status, library: library)
            }
            .onDelete { places in
                let entries = places.map { self.entries[$0] }
                run { try await library.delete(entries) }
            }
        }
        .navigationTitle("Notes")
        .task { await attempt(observe) }
        .task(id: picked) { await attempt(addPicked) }
    }

    /// Shows each change of the notes, the files and the uploads, also those that other devices make.
    private func observe() async throws {
        let observation = ValueObservation.tracking { db in
            (entries: try PhotoEntry.all.fetchAll(db), status: try LFSStatus(db))
        }
        for try await state in observation.values(in: library.database) {
            entries = state.entries
            status = state.status
        }
    }

    private func addPicked() async throws {
        guard let photo = try await picked?.loadTransferable(type: Data.self) else { return }
        try await library.add(text.isEmpty ? "A photo" : text, photo: photo)
        text = ""
    }

    private func run(_ body: @escaping @MainActor () async throws -> Void) { Task { await attempt(body) } }

    private func attempt(_ body: () async throws -> Void) async {
        do { try await body() } catch is CancellationError {} catch { problem = error.localizedDescription }
    }
}

/// A note with its photo and the state of the file.
struct NoteRow: View {
    let entry: PhotoEntry
    let status: LFSStatus?
    let library: NoteLibrary
    @State private var image: UIImage?
    @State private var fraction: Double?

    var body: some View {
        VStack(alignment: .leading) {
            if let image { Image(uiImage: image).resizable().scaledToFit() }
            Text(entry.note.text)
            Text(entry.state(status)).font(.caption)
            if let fraction, entry.upload != nil { ProgressView(value: fraction) }
            if entry.upload?.state == .failed {
                Button("Try again") { Task { try await library.lfs.retry([entry.file.id]) } }
            }
        }
        // The status is a part of the id: the photo of another device can be read when it is on the storage.
        .task(id: entry.file.status) {
            let data = try? await library.lfs.data(of: entry.file)
            image = data.flatMap { $0 }.flatMap { UIImage(data: $0) }
        }
        .task(id: entry.upload?.state) { await follow() }
    }

    private func follow() async {
        guard entry.upload?.state == .queued else { return }
        do {
            for try await progress in try await library.lfs.uploadProgress(of: entry.file.id) {
                fraction = progress.fractionCompleted
            }
        } catch {
            // The row has the reason.
            fraction = nil
        }
    }
}

/// The address of `lfs-server` and the token of this device.
struct AccountForm: View {
    let library: NoteLibrary
    @State private var server = ""
    @State private var token = ""
    @State private var message = "'lfs-server session add' prints a token. The account applies at the next start."

    var body: some View {
        Form {
            TextField("https://photos.example", text: $server)
            SecureField("Token", text: $token)
            Button("Save") {
                Task {
                    do {
                        try await library.logIn(server: server, token: token)
                        message = "Saved. Start the app again."
                    } catch {
                        message = error.localizedDescription
                    }
                }
            }
            Text(message)
        }
        .navigationTitle("Account")
    }
}
