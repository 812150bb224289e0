import Foundation
import LFSFiles
import LFSSystem
import TestSupport
import Testing

@testable import LFS

#if canImport(Glibc)
private let descriptorLimit = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
#else
private let descriptorLimit = RLIMIT_NOFILE
#endif

@Suite("Places of files", .timeLimit(.minutes(10)))
struct FileLocationsTests {
    @Test("A staging area is kept if the process has no descriptor left to open it")
    func noDescriptors() async {
        // The limit applies to the whole process.
        await #expect(processExitsWith: .success) {
            try await withTemporaryFolder { folder in
                let store = try LocalStore(at: folder.child("store").path, databaseID: FileID.make().text)
                let owner = try StagingOwner(of: store)
                let area = try StagingArea(in: folder.child("location").path, wasUsed: false, owner)
                let places = FileLocations(store: store, staging: area, owner: owner)

                var limit = rlimit()
                guard getrlimit(descriptorLimit, &limit) == 0 else { exit(2) }
                var none = limit
                none.rlim_cur = 0
                guard setrlimit(descriptorLimit, &none) == 0 else { exit(3) }
                let hasLost = places.add([area.path])
                guard setrlimit(descriptorLimit, &limit) == 0 else { exit(4) }

                guard !hasLost, places.areas.contains(where: { $0 === area }), places.closed.isEmpty else { exit(1) }
                try FileManager.default.removeItem(atPath: area.path)
                guard places.add([area.path]), places.areas.isEmpty else { exit(5) }
            }
        }
    }
}
