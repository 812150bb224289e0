import LFSStorage
import Testing

@Suite("Listings in pages") struct ListingWatchTests {
    @Test("A listing ends with an error if its tokens repeat or change without progress", arguments: [2, 3, .max])
    func circles(_ period: Int) throws {
        var watch = ListingWatch()
        var count = 0
        let error = #expect(throws: StorageError.self) {
            while true {
                let index = count % period
                count += 1
                try watch.check(["a/\(period == .max ? 0 : index)"], next: "token \(index)")
            }
        }
        #expect(error?.code == .serverError)
        #expect(count <= ListingWatch.patience + 3)
    }

    @Test("A listing ends with an error at once if a page names itself as the next page") func sameToken() throws {
        var watch = ListingWatch()
        try watch.check(["a"], next: "token")
        #expect(throws: StorageError.self) { try watch.check(["b"], next: "token") }
    }

    @Test("A listing may have any length and any order as long as it makes progress")
    func goesOn() throws {
        var watch = ListingWatch()
        for index in 0..<10_000 {
            try watch.check(["\(100_000 + index)"], next: "token \(index)")
            try watch.check(["\(50_000 + index)"], next: "other \(index)")
            try watch.check([], next: "empty \(index)")
        }
        try watch.check([], next: nil)
    }
}
