public import CoreMetrics
import Synchronization

/// Keeps the numbers that libraries report to swift-metrics, and writes them as Prometheus reads them.
///
/// ```swift
/// let metrics = TextMetrics()
/// MetricsSystem.bootstrap(metrics)
/// print(metrics.text())
/// ```
///
/// The series are its own; each lives until it is destroyed. Format:
/// https://prometheus.io/docs/instrumenting/exposition_formats/ (text, version 0.0.4).
public final class TextMetrics: MetricsFactory {
    /// The media type of ``text()``.
    public static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private let series = Mutex<[SeriesName: Series]>([:])

    /// A factory that has no series yet.
    public init() {}

    /// All series, by name.
    public func text() -> String {
        let series = series.withLock { $0 }.sorted { $0.key < $1.key }
        var (text, last) = ("", "")
        for (name, value) in series {
            if name.name != last { text += "# TYPE \(name.name) \(name.kind.rawValue)\n" }
            last = name.name
            text += value.lines(name)
        }
        return text
    }

    private func make(_ label: String, _ kind: SeriesName.Kind, _ unit: String, _ dimensions: [(String, String)])
        -> Series
    {
        let name = SeriesName(label, kind, unit: unit, dimensions)
        return series.withLock { all in
            if let known = all[name] { return known }
            let made = Series(name)
            all[name] = made
            return made
        }
    }

    private func destroy(_ handler: AnyObject) {
        guard let gone = handler as? Series else { return }
        series.withLock { $0[gone.name] = nil }
    }

    // MARK: What libraries ask for

    /// A number that only grows.
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        make(label, .counter, "_total", dimensions)
    }

    /// A number with a fraction that only grows.
    public func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        make(label, .counter, "_total", dimensions)
    }

    /// A number that goes up and down.
    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        make(label, .gauge, "", dimensions)
    }

    /// Numbers of which the count and the sum are kept, or the last one alone.
    public func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        make(label, aggregate ? .summary : .gauge, "", dimensions)
    }

    /// Durations of which the count and the sum in seconds are kept.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        make(label, .summary, "_seconds", dimensions)
    }

    /// Forgets a series.
    public func destroyCounter(_ handler: any CounterHandler) { destroy(handler) }
    /// Forgets a series.
    public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { destroy(handler) }
    /// Forgets a series.
    public func destroyMeter(_ handler: any MeterHandler) { destroy(handler) }
    /// Forgets a series.
    public func destroyRecorder(_ handler: any RecorderHandler) { destroy(handler) }
    /// Forgets a series.
    public func destroyTimer(_ handler: any TimerHandler) { destroy(handler) }
}
