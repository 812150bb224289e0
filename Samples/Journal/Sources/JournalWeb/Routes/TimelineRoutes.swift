import Foundation
import Hummingbird
import JournalStorage

/// The routes of today's records and of the timeline.
struct TimelineRoutes: Sendable {
    let parts: WebParts

    static let pageSize = 50
    /// The maximum number of records on the page with today's records.
    static let maxOfToday = 24

    func add(to router: Router<JournalContext>) {
        router.get("/", use: today)
        router.get("/timeline", use: timeline)
    }

    @Sendable func today(_ request: Request, context: JournalContext) async throws -> Response {
        let now = Date()
        let day = JournalDay(containing: now, in: parts.options.timeZone)
        let records = try await parts.journal.loadRecords(from: day.interval.start, to: day.interval.end)
        let running = try await parts.views(parts.journal.loadRunningRecords(), now: now)
        let total = records.map { $0.duration(in: day.interval, until: now) }.reduce(0, +)
        let ended = Array(records.filter { !$0.isRunning }.reversed())
        let page = Array(ended.prefix(Self.maxOfToday))
        let shown = try await parts.views(page, now: now)
        let name = parts.times.day(now)
        let isNew = try await parts.journal.loadRecords(before: nil, limit: 1).isEmpty
        let view = TodayView(
            day: DayView(name: name, total: "\(Words.duration(total)) in all", records: shown), running: running,
            older: page.count < ended.count ? page.last.map { TimelinePlace(of: $0).text } : nil, isNew: isNew,
            welcome: WelcomeView(parts.options),
            limit: parts.options.maxPictureByteCount,
            tags: try await parts.journal.loadTags().map { TagView($0, isChosen: false) })
        return try await parts.page("today", title: "Today", at: "/", context: context, content: view)
    }

    @Sendable func timeline(_ request: Request, context: JournalContext) async throws -> Response {
        let fields = request.fields
        let place = TimelinePlace(fields["before"])
        guard place != nil || !fields.has("before") else {
            throw WebError(.badRequest, message: "This link is not a valid place of the timeline.")
        }
        let records = try await parts.journal.loadRecords(before: place, limit: Self.pageSize)
        let now = Date()
        var days: [(day: JournalDay, total: TimeInterval, records: [RecordView])] = []
        for (record, view) in zip(records, try await parts.views(records, now: now)) {
            let day = JournalDay(containing: record.start, in: parts.options.timeZone)
            if days.last?.day != day { days.append((day, 0, [])) }
            days[days.count - 1].total += record.duration(until: now)
            days[days.count - 1].records.append(view)
        }
        let shown = days.map { day, total, records in
            DayView(name: parts.times.day(day.interval.start), total: Words.duration(total), records: records)
        }
        let view = TimelineView(
            days: shown, older: records.count == Self.pageSize ? records.last.map { TimelinePlace(of: $0).text } : nil)
        return try await parts.page(
            "timeline", title: "Timeline", at: "/timeline", context: context, isLive: place == nil, content: view)
    }
}
