import Foundation
import Hummingbird
import JournalStorage
import LFS

/// The routes of the page with all pictures: by months, one part of a month, and a search.
struct GridRoutes: Sendable {
    let parts: WebParts

    /// The maximum number of pictures that a search shows.
    static let maxFound = 300
    /// The maximum number of chosen pictures.
    static let maxChosen = 1_000
    /// The maximum number of links to months. With more months, there is one link for each year.
    private static let maxLinks = 24

    func add(to router: Router<JournalContext>) {
        router.get("/pictures", use: list)
        // Moves the chosen pictures to the page "Recently deleted".
        router.form("/pictures/delete", of: parts) { form, _ in
            let files = form.all("picture").prefix(Self.maxChosen).compactMap { FileID($0) }
            guard !files.isEmpty else { throw WebError(.badRequest, message: "Choose pictures on this page.") }
            try await parts.journal.trashImages(files)
            return "/trash"
        }
    }

    @Sendable func list(_ request: Request, context: JournalContext) async throws -> Response {
        let query = request.fields["q"].trimmingCharacters(in: .whitespacesAndNewlines)
        guard query.count <= 200 else { throw WebError(.badRequest, message: "Search for at most 200 characters.") }
        let grouping = try await parts.appearance().grouping
        if !query.isEmpty { return try await search(query, grouping: grouping, context: context) }
        if request.fields.has("month") { return try await part(request, grouping: grouping, context: context) }
        let months = try await parts.journal.loadPictureMonths(in: parts.options.timeZone).map { month in
            (place: MonthPlace(month.start, times: parts.times), month: month)
        }
        var shown: [PicturePartView] = []
        var filled = 0
        for (place, month) in months {
            for part in 0..<max(1, (month.count + PicturePartView.size - 1) / PicturePartView.size) {
                let count = min(PicturePartView.size, month.count - part * PicturePartView.size)
                var groups: [PictureGroupView]?
                if filled < PicturePartView.size {
                    groups = try await self.groups(
                        month.start, to: month.end, part: part, grouping: grouping)
                    filled += count
                }
                shown.append(PicturePartView(place, part: part, count: count, grouping: grouping, groups: groups))
            }
        }
        return try await page(shown, months: links(months.map(\.place)), context: context)
    }

    /// Shows one part of a month, which scripts put into the page.
    private func part(
        _ request: Request, grouping: PictureGrouping, context: JournalContext
    ) async throws -> Response {
        guard let place = MonthPlace(request.fields["month"]), let part = UInt16(request.fields["part"]),
            let interval = place.interval(in: parts.times.calendar)
        else { throw WebError(.badRequest, message: "This link is not a valid month of the pictures.") }
        let groups = try await groups(interval.start, to: interval.end, part: Int(part), grouping: grouping)
        let count = groups.map(\.pictures.count).reduce(0, +)
        let view = PicturePartView(place, part: Int(part), count: count, grouping: grouping, groups: groups)
        let next = count < PicturePartView.size ? nil : "/pictures?month=\(place.text)&part=\(part &+ 1)"
        return try await page([view], nextPart: next, context: context)
    }

    private func search(
        _ query: String, grouping: PictureGrouping, context: JournalContext
    ) async throws -> Response {
        let images = try await parts.journal.loadPictures(
            matching: PictureSearch(query, in: parts.options.timeZone), limit: Self.maxFound)
        let badges = try await parts.badges(of: images.map(\.image))
        let found = PictureGroupView.groups(images, by: grouping, badges: badges)
        return try await page([], found: found, count: images.count, query: query, context: context)
    }

    private func groups(
        _ start: Date, to end: Date, part: Int, grouping: PictureGrouping
    ) async throws -> [PictureGroupView] {
        let images = try await parts.journal.loadPictures(
            from: start, to: end, skipping: part * PicturePartView.size, limit: PicturePartView.size)
        return PictureGroupView.groups(
            images, by: grouping, badges: try await parts.badges(of: images.map(\.image)))
    }

    private func links(_ months: [MonthPlace]) -> [MonthLinkView] {
        guard months.count > Self.maxLinks else {
            return months.map { MonthLinkView(anchor: "m-\($0.text)", name: $0.name) }
        }
        var years: [MonthLinkView] = []
        for month in months where years.last?.name != "\(month.year)" {
            years.append(MonthLinkView(anchor: "m-\(month.text)", name: "\(month.year)"))
        }
        return years
    }

    private func page(
        _ shown: [PicturePartView], months: [MonthLinkView] = [], found: [PictureGroupView] = [], count: Int = 0,
        query: String = "", nextPart: String? = nil, context: JournalContext
    ) async throws -> Response {
        var (albums, ownAlbums): ([AlbumView], [AlbumView]) = ([], [])
        let all = try await parts.journal.loadAllAlbums(of: AlbumRoutes.owner)
        for album in all.albums {
            let known = try await parts.known(album)
            albums.append(AlbumView(album, isForeign: known.isForeign))
            if known.canChange { ownAlbums.append(albums[albums.count - 1]) }
        }
        let words = Words.count(count, one: "picture", more: "pictures")
        let content = PicturesView(
            albums: albums, unreadable: all.unreadable, ownAlbums: ownAlbums,
            hasCovers: parts.thumbnails != nil, months: months.count > 1 ? months : [], parts: shown, found: found,
            query: query,
            foundText: count == Self.maxFound ? "The newest \(words) are shown." : "\(words) found.",
            nextPart: nextPart, isEmpty: shown.isEmpty && query.isEmpty, welcome: WelcomeView(parts.options),
            limit: parts.options.maxPictureByteCount)
        return try await parts.page("pictures", title: "Pictures", at: "/pictures", context: context, content: content)
    }
}
