;; Nine skills of AI2-THOR that ALFRED does not use: BreakObject, FillObjectWithLiquid, EmptyLiquidFromObject,
;; ThrowObject, PushObject, PullObject, DirtyObject, UseUpObject, CookObject.
;; The simulator fills and empties things wherever they are; a robot needs a tap for the one and a drain for the other.
(define (fragment ai2thor_skills)
  (:predicates
    (breakable ?i - item)
    (fillable ?i - item)
    (dirtyable ?i - item)
    (usable_up ?i - item)
    (cookable ?i - item)
    (gives_liquid ?f - fixture)
    (takes_liquid ?f - fixture)
    (cooks ?f - fixture)
    (moveable ?f - fixture)
    (broken ?i - item)
    (filled ?i - item)
    (thrown ?i - item)
    (used_up ?i - item)
    (cooked ?i - item)
    (pushed ?f - fixture)
    (pulled ?f - fixture))
  ;; what is full is emptied first: to smash a mug is no way to empty it
  (:action break
    :parameters (?i - item ?f - fixture)
    :precondition (and (at ?f) (in ?i ?f) (not (closed ?f)) (breakable ?i) (not (broken ?i)) (not (filled ?i)))
    :effect (and (broken ?i) (increase (total-cost) 2)))
  (:action fill
    :parameters (?i - item ?f - fixture)
    :precondition (and (at ?f) (holding ?i) (fillable ?i) (not (broken ?i)) (not (filled ?i)) (gives_liquid ?f))
    :effect (and (filled ?i) (increase (total-cost) 3)))
  (:action empty
    :parameters (?i - item ?f - fixture)
    :precondition (and (at ?f) (holding ?i) (filled ?i) (takes_liquid ?f))
    :effect (and (not (filled ?i)) (increase (total-cost) 2)))
  ;; where a thing comes to rest is not known, so it has to be looked for afterwards; it frees the hand, and costs so
  ;; much that nothing is thrown away for that
  (:action throw
    :parameters (?i - item)
    :precondition (and (holding ?i))
    :effect (and (thrown ?i) (hand_empty) (not (holding ?i)) (increase (total-cost) 200)))
  (:action push
    :parameters (?f - fixture)
    :precondition (and (at ?f) (moveable ?f))
    :effect (and (pushed ?f) (increase (total-cost) 3)))
  (:action pull
    :parameters (?f - fixture)
    :precondition (and (at ?f) (moveable ?f))
    :effect (and (pulled ?f) (increase (total-cost) 3)))
  (:action dirty_up
    :parameters (?i - item ?f - fixture)
    :precondition (and (at ?f) (in ?i ?f) (not (closed ?f)) (dirtyable ?i) (not (dirty ?i)))
    :effect (and (dirty ?i) (not (cleaned ?i)) (increase (total-cost) 2)))
  (:action use_up
    :parameters (?i - item ?f - fixture)
    :precondition (and (at ?f) (in ?i ?f) (not (closed ?f)) (usable_up ?i) (not (used_up ?i)))
    :effect (and (used_up ?i) (increase (total-cost) 3)))
  (:action cook
    :parameters (?i - item ?f - fixture)
    :precondition (and (at ?f) (holding ?i) (cookable ?i) (cooks ?f) (not (closed ?f)))
    :effect (and (cooked ?i) (hot ?i) (not (cold ?i)) (increase (total-cost) 4))))
