import Foundation
import LFSTesting
import TestSupport
import Testing

@testable import LFSStorage

@Suite("Pages of a folder's listing", .timeLimit(.minutes(10)))
struct ListingWindowsTests {
    private let keys = (0..<1_000).compactMap { ObjectKey(listed: "a/" + String(10_000 + $0)) }

    /// Returns all keys, page by page, and the number of walks through the tree.
    private func list(
        _ windows: ListingWindows<ObjectKey>, limit: Int, from keys: [ObjectKey], between: () -> Void = {}
    ) throws -> (keys: [ObjectKey], walks: Int) {
        var (found, walks) = ([ObjectKey](), 0)
        var request = ListRequest(prefix: "a/", limit: limit)
        repeat {
            let page = try windows.page(request) { request in
                walks += 1
                let after = request.continuation ?? ""
                return Array(keys.filter { $0.rawValue > after }.prefix(request.limit + 1))
            }
            #expect(page.items.count <= limit)
            found += page.items
            request.continuation = page.next
            between()
        } while request.continuation != nil
        return (found, walks)
    }

    @Test("Many pages of a listing cost one walk through the tree", arguments: [1, 7, 10, 100, 1_000, 5_000])
    func walks(_ limit: Int) throws {
        let one = try list(ListingWindows<ObjectKey>(size: 1 << 16) { $0 }, limit: limit, from: keys)
        #expect(one.keys == keys)
        #expect(one.walks == 1)
        let small = try list(ListingWindows<ObjectKey>(size: 100) { $0 }, limit: limit, from: keys)
        #expect(small.keys == keys)
        #expect(small.walks <= 10)
    }

    @Test("Concurrent listings do not affect each other")
    func severalListings() throws {
        let windows = ListingWindows<ObjectKey>(size: 1 << 16) { $0 }
        let listed = try list(windows, limit: 100, from: keys) {
            do { #expect(try list(windows, limit: 77, from: keys).keys == keys) } catch { Issue.record(error) }
        }
        #expect(listed.keys == keys)
    }

    @Test("Each listing starts over and continues after a key that no window has")
    func anew() throws {
        let windows = ListingWindows<ObjectKey>(size: 1 << 16) { $0 }
        _ = try windows.page(ListRequest(prefix: "a/", limit: 3)) { _ in keys }
        let fewer = Array(keys.dropFirst(500))
        #expect(try list(windows, limit: 100, from: fewer).keys == fewer)
        let page = try windows.page(ListRequest(prefix: "a/", continuation: "a/10777", limit: 2)) { request in
            #expect(request.continuation == "a/10777")
            return []
        }
        #expect(page.items == [] && page.next == nil)
    }

    @Test("A listing has every key of any tree once, in the order of the bytes", arguments: 0..<20)
    func trees(_ seed: Int) async throws {
        let random = LockedGenerator(seed: UInt64(seed))
        try await withTemporaryFolder { folder in
            let storage = try DirectoryStorage(at: folder.child("storage"))
            var made: Set<String> = []
            let names = ["a", "a-b", "a.b", "a0", "b", "b_"]
            for _ in 0..<40 {
                let segments = (0...random.next(below: 3)).map { depth in
                    "\(names[random.next(below: names.count)])\(depth == 0 ? "" : "\(depth)")"
                }
                // A folder and a file cannot have the same name.
                made.insert(segments.joined(separator: "/") + "/file\(random.next(below: 5))")
            }
            for name in made { _ = try await storage.upload(.temporary([1]), to: ObjectKey(name), session: .init()) }
            let sorted = made.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            for prefix in ["", "a", "a-b/", "b"] {
                for (limit, isFresh) in [(1, true), (1, false), (3, true), (3, false), (100, false)] {
                    var (found, request) = ([String](), ListRequest(prefix: prefix, limit: limit))
                    repeat {
                        // Another storage for the same folder has no window of this listing.
                        let lister = isFresh ? try DirectoryStorage(at: folder.child("storage")) : storage
                        let page = try await lister.list(request)
                        found += page.objects.map(\.key.rawValue)
                        request.continuation = page.next
                    } while request.continuation != nil
                    #expect(found == sorted.filter { $0.hasPrefix(prefix) })
                }
            }
        }
    }
}
